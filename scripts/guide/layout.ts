/** The parts that differ from page to page. */
export interface PageParts {
  /** Where it is served; undefined for the page of unknown paths. */
  readonly path: string | undefined;
  /** The table of contents, as HTML. */
  readonly contents: string;
  readonly title: string;
  readonly about: string;
  /** The article as HTML, with its title. */
  readonly article: string;
  /** Links to its headings, as HTML; empty where there are none. */
  readonly headings: string;
  /** The HTML below the article. */
  readonly below: string;
}

/** The paths of the assets that every page loads. */
export interface AssetPaths {
  readonly styles: string;
  /** The script that runs before the page is painted. */
  readonly early: string;
  readonly script: string;
  readonly icon: string;
}

function icon(paths: string): string {
  return `<svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.25" stroke-linecap="round" aria-hidden="true">${paths}</svg>`;
}
const GLASS = icon('<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/>');
const LINES = icon('<path d="M2 4h12M2 8h12M2 12h12"/>');
const CROSS = icon('<path d="m3.5 3.5 9 9m0-9-9 9"/>');

// The search needs a script: where scripts are disabled, the style sheet hides these buttons.
function searchButton(label: string): string {
  return `<button type="button" class="search-open" aria-haspopup="dialog" aria-keyshortcuts="Control+K /">${GLASS}<span>${label}</span><kbd aria-hidden="true">Ctrl K</kbd></button>`;
}

function aside(headings: string): string {
  return headings === ''
    ? ''
    : `<nav class="headings" aria-label="On this page"><h2>On this page</h2>${headings}</nav>`;
}

function summary(headings: string): string {
  return headings === ''
    ? ''
    : `<details class="headings-short"><summary>On this page</summary><nav aria-label="On this page, folded">${headings}</nav></details>`;
}

const PLACES = [
  ['/guide', 'Guide'],
  ['/docs', 'API reference'],
] as const;

/** The documents; the one that a page belongs to stands out. */
function places(path = '/guide/'): string {
  return PLACES.map(([root, title]) => {
    const kind = path.startsWith(root) ? ' class="here"' : '';
    return `<a href="${root}"${kind}${path === root ? ' aria-current="page"' : ''}>${title}</a>`;
  }).join('');
}

/**
 * Assembles a page. Its own ids start with an underscore, as no anchor of a heading does. Its menu, links and outline
 * work without the script.
 */
export function layOut(page: PageParts, assets: AssetPaths): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${Bun.escapeHTML(page.about)}">
<title>${Bun.escapeHTML(page.title)} · Cardvault</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.styles}">
<script src="${assets.early}"></script>
<script type="module" src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#_page">Skip to the page</a>
<header class="bar">
<button type="button" class="menu" popovertarget="_contents" aria-label="Contents">${LINES}</button>
<a class="brand" href="/guide">Cardvault</a>
${searchButton('Search')}
</header>
<div class="contents" id="_contents" popover>
<div class="contents-top">
<button type="button" class="menu" popovertarget="_contents" popovertargetaction="hide" aria-label="Close the contents">${CROSS}</button>
${searchButton('Search')}
<nav class="places" aria-label="Documents">${places(page.path)}</nav>
</div>
<nav aria-label="Contents">
${page.contents}
</nav>
</div>
<main id="_page" tabindex="-1">
<article>
${page.article.replace('</h1>', () => `</h1>\n${summary(page.headings)}`)}
${page.below}
</article>
${aside(page.headings)}
</main>
</body>
</html>
`;
}
