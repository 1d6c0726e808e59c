import type { FormBundle } from '../../../forms/build.ts';
import { VaultError } from '../../core/errors.ts';
import type { HttpParts } from '../../http/deps.ts';
import type { Page } from '../../http/pages/pages.ts';
import { REVALIDATE, respondWithFile, staticFileOf } from '../../http/pages/static-file.ts';
import { isOnFormsHost } from '../../http/request.ts';
import { bundlePath } from './render.ts';

const SCRIPT = 'vault-element.js';

function pageOf(src: string, { integrity }: FormBundle): string {
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cardvault</title>
</head>
<body>
<script src="${src}" integrity="${integrity}" crossorigin></script>
</body>
</html>
`;
}

/**
 * The page of a single field, at the origin of the API, where no script of an owner ever runs unsandboxed: so that the
 * frames of one checkout reach each other, and nothing else reaches them. The host for forms has no such page.
 */
export function elementPages({
  http,
  formPages: { bundles },
}: Pick<HttpParts, 'http' | 'formPages'>): readonly Page[] {
  const script = bundles.files.find(({ name }) => name === SCRIPT);
  if (script === undefined) {
    return [];
  }
  const src = `${http.publicUrl}${bundlePath(bundles, SCRIPT)}`;
  const file = staticFileOf('text/html; charset=utf-8', new TextEncoder().encode(pageOf(src, script)), true);
  const policy = [
    "default-src 'none'",
    `script-src ${src}`,
    `connect-src ${http.publicUrl}/v1/`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const headers = {
    'Cache-Control': REVALIDATE,
    'Content-Security-Policy': policy,
    // A page that is isolated so itself may embed it; any other may too.
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Permissions-Policy': 'clipboard-write=*, camera=(), microphone=(), geolocation=(), payment=()',
  };
  return [
    {
      path: '/forms/element',
      isPublic: true,
      respond: (request) => {
        if (isOnFormsHost(http, request)) {
          throw new VaultError('not_found');
        }
        return respondWithFile(file, request, { headers });
      },
    },
  ];
}
