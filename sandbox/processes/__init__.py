"""The processes of a control plane: their command lines, certificates, start and end."""
