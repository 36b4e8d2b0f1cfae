"""Small programs that show the product on real data."""
