"""What PaddlePaddle's cloud team published about these experiments, and what its raw logs say.

https://github.com/PaddlePaddle/cloud, doc/edl/experiment: README.md and result/ (doc/autoscale in
2017). It is a README with logs, no paper. Its cluster was 133 physical nodes with Kubernetes 1.6.2.
"""

from typing import Final

T1: Final = (
    ("mean wait", "with 42.9, without 280.5", "with 47.2, without 308.5"),
    ("utilisation 300–500 s", "about 86 % and 88 %", "with 86.3 %, without 88.7 %"),
    ("Jain index at 500 s", "—", "0.38–0.47"),
    ("jobs below their minimum, of 20", "—", "1–7"),
    ("trainer stops", "—", "126–163"),
)
T2: Final = (
    ("utilisation", "with 83.4 %, without 61.9 %", "peak 89.8–91.9 %, at 100 nginx 79.5 %"),
    ('nginx back to 400 ("higher priority")', "implied", "0 of 10 runs (175–398)"),
    ("mean wait", "with 53.55, without 1.5", "with 51.5, without 1.5"),
)
DRAGON: Final = "65 % less job time and 20–30 % more utilisation than with the default scheduler"
