// After a search Sphinx marks its words in the pages, and asks all that is in a picture for its box.
// The title of an icon has none: without this, "p" of "p-value" in "Expand" ends the marking.
SVGTitleElement.prototype.getBBox ??= () => new DOMRect();
