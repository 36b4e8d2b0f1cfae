"""What people look at: files, pages, tables, plots. One folder for each thing that is shown."""
