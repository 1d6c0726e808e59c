/** Small letters, no punctuation, dashes for spaces: the anchors that headings have on the usual hosts. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Makes the anchors of one page. A text that comes again gets a number, so that no two are the same. */
export function createAnchors(): (text: string) => string {
  const taken = new Set<string>();
  return (text) => {
    const slug = slugOf(text);
    let anchor = slug;
    for (let again = 1; taken.has(anchor); again += 1) {
      anchor = `${slug}-${again}`;
    }
    taken.add(anchor);
    return anchor;
  };
}
