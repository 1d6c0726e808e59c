import type { Entry } from './contents.ts';
import { type AssetPaths, layOut } from './layout.ts';
import type { RenderedPage } from './markdown.ts';
import { contentsHtml, headingsHtml, neighboursHtml, overviewHtml } from './navigation.ts';

function sourceHtml({ file }: Entry): string {
  return `<p class="source">From <code>docs/${Bun.escapeHTML(file)}</code>, as it came with this server.</p>`;
}

/** The page of a Markdown file. */
export function entryPage(entry: Entry, rendered: RenderedPage, assets: AssetPaths): string {
  return layOut(
    {
      path: `/guide/${entry.address}`,
      contents: contentsHtml(entry.address),
      title: rendered.title,
      about: entry.about,
      article: rendered.html,
      headings: headingsHtml(rendered.headings),
      below: `${neighboursHtml(entry)}\n${sourceHtml(entry)}`,
    },
    assets,
  );
}

const LEAD =
  '<p class="lead">Cardvault is a card data vault that you run yourself: it encrypts, tokenizes, stores and returns payment card data and other JSON. This guide comes with the server and fits its version; the <a href="/docs">API reference</a> has every route.</p>';

/** The start page: a list of all pages. */
export function openingPage(assets: AssetPaths): string {
  return layOut(
    {
      path: '/guide',
      contents: contentsHtml(''),
      title: 'Guide',
      about: 'How to use and run Cardvault, a card data vault of your own.',
      article: `<h1>Guide</h1>\n${LEAD}\n${overviewHtml()}`,
      headings: '',
      below: '',
    },
    assets,
  );
}

/** The page for unknown paths. It is the same for all of them. */
export function missingPage(assets: AssetPaths): string {
  return layOut(
    {
      path: undefined,
      contents: contentsHtml(undefined),
      title: 'No such page',
      about: 'The guide has no page here.',
      article: `<h1>No such page</h1>\n<p class="lead">The guide has no page here. These are the pages that it has.</p>\n${overviewHtml()}`,
      headings: '',
      below: '',
    },
    assets,
  );
}
