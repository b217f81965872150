"""What each command shows: values in, a `Report` out."""
