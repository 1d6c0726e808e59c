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
ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(210px, 100%), 1fr)); gap: 16px; margin: 0; padding: 0; list-style: none; }
a { color: inherit; }
li a { display: block; height: 100%; padding: 18px; border: 1px solid var(--line); border-radius: 12px; text-decoration: none; }
li a:hover { border-color: var(--link); }
li strong { display: block; color: var(--link); }
li span, footer { color: var(--soft); }
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
