"""`python -m kubectl_edl`, where the console script is not on PATH."""

from kubectl_edl.main import main

main()
