"""What tests share: toy runs and data, faulty inputs, probes, and readers of what runs leave."""
