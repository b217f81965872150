"""Documents with places that depend on values: described once, printed for Helm or filled in.

`template_nodes` defines the places, `component_patches` turns kustomize's components into them,
`filled` fills them in, `helm_text` prints them as a Helm template.
"""
