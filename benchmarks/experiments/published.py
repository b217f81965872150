"""What PaddlePaddle EDL published about these experiments, and what its raw logs say.

https://github.com/PaddlePaddle/cloud, doc/autoscale/experiment: README.md and out/.
"""

from typing import Final

T1: Final = (
    ("mean wait", "with 42.9, without 280.5", "with 47.2, without 308.5"),
    ("utilisation 300–500 s", '"equal"', "with 86.3 %, without 88.7 %"),
    ('"evenly distributed": Jain index', "yes", "0.38–0.47"),
    ("jobs below their minimum, of 20", "—", "1–7"),
    ("trainer stops", "—", "126–163"),
)
T2: Final = (
    ("utilisation", '"≈ 90 %"', "peak 89.8–91.9 %, at 100 nginx 79.5 %"),
    ('nginx back to 400 ("higher priority")', "implied", "0 of 10 runs (175–398)"),
)
DRAGON: Final = "65 % less job time and 20–30 % more utilisation than with the default scheduler"
