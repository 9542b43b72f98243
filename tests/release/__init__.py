"""What has to hold before a release is uploaded: ``make release``."""
