/** Lower case, no punctuation, hyphens for spaces: the same anchors that GitHub makes of headings. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Makes the anchors of one page. A repeated text gets a number, so that all anchors differ. */
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
