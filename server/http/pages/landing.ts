import { createHash } from 'node:crypto';
import { version } from '../../../package.json';
import { VaultError } from '../../core/errors.ts';
import { prefersHtml } from '../accept.ts';
import { BASE_STYLE, htmlPage, pagePolicy } from './html.ts';
import type { Page } from './pages.ts';
import { REVALIDATE, respondWithFile, staticFileOf } from './static-file.ts';

const STYLE = `${BASE_STYLE}main, footer { max-width: 1000px; margin: auto; padding: 0 24px; }
main { padding-top: 12vh; }
h1 { margin: 0 0 12px; font-size: 32px; line-height: 1.2; }
p { margin: 0 0 32px; max-width: 60ch; }
nav ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(210px, 100%), 1fr)); gap: 16px; margin: 0; padding: 0; list-style: none; }
a { color: inherit; }
nav a { display: block; height: 100%; padding: 18px; border: 1px solid var(--line); border-radius: 12px; text-decoration: none; }
nav a:hover { border-color: var(--link); }
nav strong { display: block; color: var(--link); }
nav span, footer { color: var(--soft); }
h2 { margin: 40px 0 8px; font-size: 20px; line-height: 1.3; }
ol { margin: 0; padding-left: 1.5em; max-width: 65ch; }
ol a { color: var(--link); }
footer { padding-top: 48px; padding-bottom: 48px; }
`;

const POLICY = pagePolicy({
  'style-src': `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src': 'data:',
});

const PLACES = [
  ['/guide', 'Guide', 'Learn the terms, store the first card, and look tasks up.'],
  ['/docs', 'API reference', 'Every operation: what it takes, what it replies, and its errors.'],
  ['/console', 'Console', 'Items, keys, endpoints, forms, jobs and logs of an account.'],
] as const;
const FORMS = [
  '/forms',
  'Hosted forms',
  'All types, styles and colours of the forms for your pages.',
] as const;

/** What somebody does first; the page tells nobody whether the vault is empty. */
const FIRST_STEPS = `<h2>First steps</h2>
<ol>
<li><a href="/console#/keys">Make a key</a> in the console, signed in with the account that the first start printed.</li>
<li><a href="/guide/quick-start#4-store-a-card">Store a card</a> under it with one command, or <a href="/guide/quick-start#6-use-the-sdk">from your own program</a>.</li>
</ol>`;

function pageOf(isStaging: boolean): string {
  const places = [...PLACES, ...(isStaging ? [FORMS] : [])].map(
    ([link, name, about]) => `<li><a href="${link}"><strong>${name}</strong> <span>${about}</span></a></li>`,
  );
  return htmlPage(
    'Cardvault',
    `<style>${STYLE}</style>`,
    `<main>
<h1>Cardvault</h1>
<p>This server keeps payment cards and bank accounts encrypted, and gives out tokens instead of them.</p>
<nav aria-label="Places"><ul>
${places.join('\n')}
</ul></nav>
${FIRST_STEPS}
</main>
<footer>${isStaging ? 'Staging' : 'Production'}, version ${version}. <a href="/health/ready">Health</a></footer>`,
  );
}

/** The page at `/`, for browsers; other clients get the error of an unknown path. */
export function landingPages(isStaging: boolean): readonly Page[] {
  const bytes = new TextEncoder().encode(pageOf(isStaging));
  const file = staticFileOf('text/html; charset=utf-8', bytes, true);
  return [
    {
      path: '/',
      respond: (request) => {
        if (!prefersHtml(request.headers.get('accept'))) {
          throw new VaultError('not_found');
        }
        const headers = { 'Cache-Control': REVALIDATE, 'Content-Security-Policy': POLICY };
        const response = respondWithFile(file, request, { headers });
        response.headers.set('Vary', 'Accept, Accept-Encoding');
        return response;
      },
    },
  ];
}
