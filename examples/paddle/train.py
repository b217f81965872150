"""Handwritten digits, learned by Paddle's trainers that come and go.

Paddle's launcher starts one process a pod. Whenever a pod joins or leaves, every launcher ends this
script and starts it again with new ranks and a new world size. The script's part is to go on where
the last checkpoint ended: rank 0 saves it, and tells the others what it found.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from threading import Event

import numpy as np
import paddle
from paddle import distributed, nn

STEPS = int(os.environ.get("EDL_STEPS", "1000"))
STEP_SECONDS = float(os.environ.get("EDL_STEP_SECONDS", "0.1"))
DATA = Path(os.environ.get("EDL_DATA", "/data"))
HOST = socket.gethostname()
CHECKPOINT = DATA / "checkpoints" / "last.pdparams"
STEPS_A_CHECKPOINT = 10
BATCH = 32  # for each trainer
PATIENCE = 60.0  # seconds until an ended trainer's launcher has noticed that its world ends
TOLD_TO_LEAVE = 128 + signal.SIGTERM


def main() -> None:
    paddle.set_device("cpu")
    paddle.seed(0)
    if distributed.get_world_size() > 1:
        distributed.init_parallel_env()
    # Not before: a worker that still waits for its peers is best ended at once.
    told = told_by_sigterm()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = paddle.optimizer.Momentum(0.05, 0.5, parameters=model.parameters())
    done = resume(model, optimizer)
    tell(f"goes on after step {done} as {place()}")
    done = train(model, optimizer, done, told)
    tell(f"ends after step {done}")
    if done < STEPS:
        # A launcher takes a script that ends before it is told to for one that has failed.
        told.wait(PATIENCE)
        sys.exit(TOLD_TO_LEAVE)


def told_by_sigterm() -> Event:
    """Set when the launcher ends a world: the step that runs is finished first."""
    told = Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    return told


def train(model: nn.Layer, optimizer: paddle.optimizer.Optimizer, done: int, told: Event) -> int:
    """The steps that are done when it ends: all, or those before a worker was told to leave."""
    images, labels = digits()
    parallel = paddle.DataParallel(model) if distributed.get_world_size() > 1 else model
    ledger = Ledger()
    ending = done >= STEPS
    while not ending:
        done += 1
        chosen = batch(len(labels), done)
        loss = nn.functional.cross_entropy(parallel(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        mean, leaving = agree(float(loss), told=told.is_set())
        ending = leaving or done >= STEPS
        if distributed.get_rank() == 0:
            world = distributed.get_world_size()
            ledger.record(step=done, samples=BATCH * world, loss=mean, world=world)
            if ending or done % STEPS_A_CHECKPOINT == 0:
                save(model, optimizer, done)
        time.sleep(0 if ending else STEP_SECONDS)
    return done


def digits() -> tuple[paddle.Tensor, paddle.Tensor]:
    with np.load(Path(__file__).with_name("digits.npz")) as found:  # see the Dockerfile
        images = paddle.to_tensor(found["images"] / 16, dtype="float32")
        return images, paddle.to_tensor(found["labels"])


def batch(images: int, step: int) -> paddle.Tensor:
    """This trainer's share of a step's images: trainers agree on it without a word."""
    order = np.random.default_rng(step).permutation(images)
    share = order[distributed.get_rank() :: distributed.get_world_size()]
    return paddle.to_tensor(share[:BATCH])


def agree(loss: float, *, told: bool) -> tuple[float, bool]:
    """The mean loss, and whether a worker was told to leave: then all end after the same step."""
    both = paddle.to_tensor([loss, float(told)], dtype="float32")
    if distributed.get_world_size() > 1:
        distributed.all_reduce(both)
    total, leaving = both.tolist()
    return total / distributed.get_world_size(), leaving > 0


def resume(model: nn.Layer, optimizer: paddle.optimizer.Optimizer) -> int:
    """The number of steps that were saved. All get what rank 0 read: one file, read once."""
    first = distributed.get_rank() == 0
    found = [
        paddle.load(str(CHECKPOINT), return_numpy=True) if first and CHECKPOINT.exists() else None
    ]
    if distributed.get_world_size() > 1:
        distributed.broadcast_object_list(found, src=0)
    (saved,) = found
    if saved is None:
        return 0
    model.set_state_dict(saved["model"])
    optimizer.set_state_dict(saved["optimizer"])
    return int(saved["step"])


def save(model: nn.Layer, optimizer: paddle.optimizer.Optimizer, step: int) -> None:
    """Whole or not at all: a reader never finds half a file."""
    CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
    part = CHECKPOINT.with_name(f"{HOST}-{os.getpid()}.part")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    paddle.save(state, str(part))
    part.replace(CHECKPOINT)


class Ledger:
    """One JSON object a step, in a file of this process."""

    def __init__(self) -> None:
        folder = DATA / "ledger"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{HOST}-{time.time_ns()}.jsonl"

    def record(self, **fields: float) -> None:
        line = {"time": time.time(), "who": HOST} | fields
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def place() -> str:
    return f"rank {distributed.get_rank()} of {distributed.get_world_size()}"


def tell(what: str) -> None:
    print(f"{HOST} {what}", flush=True)


if __name__ == "__main__":
    main()
