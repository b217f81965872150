"""What users read of decisions and explanations: no other package makes these sentences.

No clock readings: the same situation always reads the same.
"""

from edl.messages.blocker_messages import cause, remedy
from edl.messages.reason_messages import lasting, message, messages

__all__ = ["cause", "lasting", "message", "messages", "remedy"]
