"""What users who may read one namespace are told of the queue: values, nothing is written here."""
