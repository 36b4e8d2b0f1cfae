"""Laws of one person's answers that a survey's guarantee may rest on: a module for each kind, and what all share."""
