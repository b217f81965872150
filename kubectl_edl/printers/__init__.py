"""The forms that `-o` chooses from: kubectl's."""

from kubectl_edl.printers.forms import BadForm, Form, form, print_report

__all__ = ["BadForm", "Form", "form", "print_report"]
