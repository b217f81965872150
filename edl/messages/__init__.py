"""What users read of decisions and explanations: no other package makes these sentences.

No clock readings: the same situation always reads the same.
"""

from edl.messages.blocker_messages import cause, remedy
from edl.messages.code_texts import UNNAMED_POD, unnamed_jobs
from edl.messages.reason_messages import lasting, message, messages

__all__ = ["UNNAMED_POD", "cause", "lasting", "message", "messages", "remedy", "unnamed_jobs"]
