"""The forms that `-o` chooses from: kubectl's."""
