"""PaddlePaddle EDL's decision algorithm, reimplemented from its behaviour, as a third arm."""
