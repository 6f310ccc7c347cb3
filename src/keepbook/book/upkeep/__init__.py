"""Work on a whole book: erasing it, taking it elsewhere, tidying it up."""
