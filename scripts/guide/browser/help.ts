/** Scrolls a list just far enough to show one of its links. */
function bring(link: HTMLElement | undefined): void {
  const list = link?.closest('nav');
  if (link === undefined || list === null || list === undefined) {
    return;
  }
  const place = link.getBoundingClientRect();
  const box = list.getBoundingClientRect();
  list.scrollTop += Math.min(0, place.top - box.top - 40) + Math.max(0, place.bottom - box.bottom + 40);
}

/** Marks the current heading in the outline at the side, or in the contents where they have the headings. */
export function followHeadings(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.headings a, .contents li a[href^="#"]')].map(
      (link) => [decodeURIComponent(link.hash.slice(1)), link],
    ),
  );
  const headings = [...links.keys()].flatMap((id) => document.getElementById(id) ?? []);
  const mark = (): void => {
    const atEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const current = atEnd ? headings.at(-1) : passed.at(-1);
    for (const [id, link] of links) {
      link.ariaCurrent = id === current?.id ? 'true' : null;
    }
    bring(links.get(current?.id ?? ''));
  };
  let isAsked = false;
  const ask = (): void => {
    if (!isAsked) {
      isAsked = true;
      requestAnimationFrame(() => {
        isAsked = false;
        mark();
      });
    }
  };
  if (headings.length > 0) {
    addEventListener('scroll', ask, { passive: true });
    mark();
  }
}

/** Makes a box focusable only while it has something to scroll. */
export function freeFocus(): void {
  const look = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const isWide = target.scrollWidth > target.clientWidth;
      target.toggleAttribute('tabindex', isWide);
      if (isWide) {
        target.setAttribute('tabindex', '0');
      }
    }
  });
  for (const box of document.querySelectorAll('.code pre, .table')) {
    look.observe(box);
  }
}

/** Scrolls the table of contents to the current page. */
export function showCurrent(): void {
  const contents = document.getElementById('_contents');
  const current = contents?.querySelector('nav [aria-current]');
  const bring = (): void => current?.scrollIntoView({ block: 'center', behavior: 'instant' });
  const box = contents?.getBoundingClientRect();
  const place = current?.getBoundingClientRect();
  if (box !== undefined && place !== undefined && place.bottom > box.bottom) {
    bring();
  }
  contents?.addEventListener('toggle', bring);
}
