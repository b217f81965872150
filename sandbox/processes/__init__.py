"""The processes of a control plane: command lines, certificates, start and end."""
