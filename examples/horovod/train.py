"""Handwritten digits, learned by Horovod's workers that come and go.

horovodrun starts one process a worker. When the host list changes, all of them meet at their next
commit and go on with new ranks; when one dies, the others go back to their last commit. Rank 0
also saves each commit as a file, from which all workers resume when all of them died.
"""

import json
import os
import socket
import time
from pathlib import Path
from typing import TextIO

import horovod.torch as hvd
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

STEPS = int(os.environ.get("EDL_STEPS", "600"))
STEP_SECONDS = float(os.environ.get("EDL_STEP_SECONDS", "0.1"))
DATA = Path(os.environ.get("EDL_DATA", "/data"))
HOST = socket.gethostname()  # HOSTNAME is the launcher's: Horovod passes its environment on
CHECKPOINT = DATA / "checkpoints" / "last.pt"
STEPS_A_COMMIT = 5
BATCH = 32  # for each worker


class Ledger:
    """One JSON object a step, in a file of this process."""

    def __init__(self) -> None:
        self.file: TextIO | None = None

    def record(self, **fields: float) -> None:
        self.file = self.file or self.opened()
        line = {"time": time.time(), "who": HOST} | fields
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def opened(self) -> TextIO:
        path = DATA / "ledger" / f"{HOST}-{time.time_ns()}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")


def main() -> None:
    torch.set_num_threads(1)
    hvd.init()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5),
        named_parameters=model.named_parameters(),
    )
    step = resume(model, optimizer)
    state = hvd.elastic.TorchState(model=model, optimizer=optimizer, step=step)
    state.register_reset_callbacks([lambda: tell(f"goes on as {place()}")])
    tell(f"begins after step {step} as {place()}")
    train(state, Ledger())
    tell(f"ends after step {state.step}")


@hvd.elastic.run
def train(state: hvd.elastic.TorchState, ledger: Ledger) -> None:
    """Called again, with the state that all agree on, whenever the workers are others."""
    images, labels = digits()
    while state.step < STEPS:
        chosen = batch(len(labels), state.step)
        state.optimizer.zero_grad()
        loss = cross_entropy(state.model(images[chosen]), labels[chosen])
        loss.backward()
        state.optimizer.step()
        mean = hvd.allreduce(loss.detach(), name="loss").item()
        state.step += 1
        if hvd.rank() == 0:
            ledger.record(step=state.step, samples=BATCH * hvd.size(), loss=mean, world=hvd.size())
        if state.step % STEPS_A_COMMIT == 0:
            if hvd.rank() == 0:
                save(state)
            state.commit()  # raises here, and in all workers, when the host list has changed
        time.sleep(STEP_SECONDS)


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    with np.load(Path(__file__).with_name("digits.npz")) as found:  # see the Dockerfile
        images = torch.tensor(found["images"] / 16, dtype=torch.float32)
        return images, torch.tensor(found["labels"])


def batch(count: int, step: int) -> torch.Tensor:
    """This worker's share of a step's images: workers agree on it without a word."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(step))
    return order[hvd.rank() :: hvd.size()][:BATCH]


def resume(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """The steps that were saved. Only rank 0's are used: it tells the others."""
    if not CHECKPOINT.exists():
        return 0
    saved = torch.load(CHECKPOINT)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return int(saved["step"])


def save(state: hvd.elastic.TorchState) -> None:
    """Whole or not at all: a reader never finds half a file."""
    CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
    part = CHECKPOINT.with_name(f"{HOST}-{os.getpid()}.part")
    model, optimizer = state.model.state_dict(), state.optimizer.state_dict()
    torch.save({"model": model, "optimizer": optimizer, "step": state.step}, part)
    part.replace(CHECKPOINT)


def place() -> str:
    return f"rank {hvd.rank()} of {hvd.size()}"


def tell(what: str) -> None:
    print(f"{HOST} {what}", flush=True)


if __name__ == "__main__":
    main()
