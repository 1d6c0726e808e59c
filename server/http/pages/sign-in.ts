import { createHash } from 'node:crypto';
import { OIDC_CALLBACK, type OidcOutcome, type OidcSignIns } from '../../account/oidc/oidc-sign-ins.ts';
import { endCookie, SIGN_IN_COOKIE } from '../../account/session/cookie.ts';
import { BASE_STYLE, htmlPage, pagePolicy } from './html.ts';
import type { ServicePage } from './pages.ts';

const STYLE = `${BASE_STYLE}main { max-width: 560px; margin: auto; padding: 16vh 24px 24px; }
h1 { margin: 0 0 12px; font-size: 26px; line-height: 1.2; }
p { margin: 0 0 20px; }
a { color: var(--link); }
.reference { color: var(--soft); overflow-wrap: anywhere; }
`;

/** Replaces the address, which has a code that was used, also in the history. */
const ENTER = "location.replace('/console');";

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': pagePolicy({
    'script-src': hashOf(ENTER),
    'style-src': hashOf(STYLE),
    'img-src': 'data:',
  }),
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** What a person reads, a heading and what to do, by the end of the sign-in. All texts are ours: none is of the provider. */
const WORDS: Readonly<Record<OidcOutcome['kind'], readonly [title: string, text: string]>> = {
  signed_in: ['You are signed in', 'The console opens.'],
  no_access: [
    'You have no access here',
    'Your sign-in was right, but you are in no group that may use this vault. Ask your administrator for access.',
  ],
  suspended: [
    'The account is suspended',
    'Your sign-in was right, but the operator of the vault has suspended the account. Ask the operator.',
  ],
  denied: [
    'The sign-in was refused',
    'You have refused it, or your provider does not let you use this vault. Nothing has changed.',
  ],
  expired: [
    'The sign-in is over',
    'It took more than ten minutes, was used already, or was begun in another browser. Sign in again.',
  ],
  unavailable: [
    'Your provider cannot be reached',
    'The vault got no answer of the provider that you sign in at. Try again in a minute, or ask your administrator.',
  ],
  busy: [
    'The vault cannot sign you in now',
    'Sign in again in a minute. If it fails again, give your administrator the reference.',
  ],
  refused: [
    'The sign-in failed',
    'What your provider answered is not right for this sign-in. Sign in again; if it fails again, give your administrator the reference.',
  ],
};

/** The reference is a request id, which has no characters of markup. */
function pageOf(kind: OidcOutcome['kind'], reference: string): string {
  const [title, text] = WORDS[kind];
  const isIn = kind === 'signed_in';
  const way = isIn ? 'Go on to the console' : 'Back to the sign-in';
  return htmlPage(
    title,
    `<style>${STYLE}</style>`,
    `<main>
<h1>${title}</h1>
<p role="${isIn ? 'status' : 'alert'}">${text}</p>
<p><a href="/console">${way}</a></p>
${isIn ? `<script>${ENTER}</script>` : `<p class="reference">Reference: ${reference}</p>`}
</main>`,
  );
}

/**
 * The page that the provider sends a browser back to. It answers 200 and leads on by itself: of a redirect from another site the browser
 * would send no cookie of the session.
 */
export function signInPages(
  consoleUrl: string | undefined,
  { oidcSignIns }: { readonly oidcSignIns?: OidcSignIns | undefined },
): readonly ServicePage[] {
  if (oidcSignIns === undefined || consoleUrl === undefined) {
    return [];
  }
  return [
    {
      path: OIDC_CALLBACK,
      serve: async ({ method, url, headers }, ctx) => {
        if (method === 'HEAD') {
          return new Response(null, { headers: HEADERS });
        }
        const outcome = await oidcSignIns.finish(ctx, new URL(url).search, headers.get('cookie') ?? '');
        const response = new Response(pageOf(outcome.kind, ctx.requestId), { headers: HEADERS });
        response.headers.append('Set-Cookie', endCookie(consoleUrl, SIGN_IN_COOKIE));
        if (outcome.kind === 'signed_in') {
          response.headers.append('Set-Cookie', outcome.cookie);
        }
        return response;
      },
    },
  ];
}
