"""The paper's figures made anew: pictures, data files and a page."""
