"""The sentences about decisions and explanations that users read. No other package writes them.

They contain no current time: the same situation always reads the same.
"""

from edl.messages.blocker_messages import blocker_text, remedy
from edl.messages.code_texts import QUEUE_CLOSED, QUEUE_ENDS, UNTIL
from edl.messages.reason_messages import lasting, message, messages

__all__ = [
    "QUEUE_CLOSED",
    "QUEUE_ENDS",
    "UNTIL",
    "blocker_text",
    "lasting",
    "message",
    "messages",
    "remedy",
]
