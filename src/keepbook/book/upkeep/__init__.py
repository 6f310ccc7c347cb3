"""Work on a whole book: erasure, export and import, audit."""
