"""Documents some of whose places depend on values: described once, printed for Helm or filled in.

`template_nodes` are the places, `component_patches` makes them of kustomize's components,
`filled` fills them in, `helm_text` prints them as an ordinary Helm template.
"""
