import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from '../plugins/accept.ts';
import type { Page } from './pages.ts';
import { IMMUTABLE, REVALIDATE, respondWithFile, staticFileOf } from './static-file.ts';

// Two files of the package are needed, and an image contains only these, without its many dependencies.
const REFERENCE = new URL('../../../node_modules/@scalar/api-reference/', import.meta.url);
const { version } = await Bun.file(new URL('package.json', REFERENCE)).json();
const BUNDLE = `/docs/assets/${version}/reference.js`;
const START = `/docs/assets/${version}/start.js`;

/** Nothing may be loaded from another host. The reference uses inline styles, but no inline scripts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Cardvault API</title>
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The same document as JSON: <a href="/openapi.json">/openapi.json</a></noscript>
<script src="${BUNDLE}"></script>
<script src="${START}"></script>
</body>
</html>
`;

const START_SCRIPT = `Scalar.createApiReference('#reference', ${JSON.stringify({
  url: '/openapi.json',
  authentication: { preferredSecurityScheme: 'basicAuth' },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  defaultOpenAllTags: true,
  documentDownloadType: 'direct',
})});
`;

const LONG_CACHED = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'Cache-Control': IMMUTABLE,
  Vary: 'Accept-Encoding',
};

function bundleFile() {
  return Bun.file(new URL('dist/browser/standalone.js', REFERENCE));
}

/** Returns the compressed bundle; it is compressed once, off the event loop, on the first request. */
function packOnce(): () => Promise<Uint8Array<ArrayBuffer>> {
  let packed: Promise<Uint8Array<ArrayBuffer>> | undefined;
  const pack = async () => new Uint8Array(await promisify(gzip)(await bundleFile().bytes()));
  return () => {
    packed ??= pack();
    return packed;
  };
}

/**
 * The API reference at `/docs`, which reads `/openapi.json`. Page, script and settings come from this server, under a
 * policy that names no other host; web fonts, telemetry, the request proxy and paid services of the reference are
 * disabled.
 */
export function docsPages(): readonly Page[] {
  const packedBundle = packOnce();
  const page = staticFileOf('text/html; charset=utf-8', new TextEncoder().encode(PAGE), true);
  return [
    {
      path: '/docs',
      respond: (request) =>
        respondWithFile(page, request, {
          headers: { 'Cache-Control': REVALIDATE, 'Content-Security-Policy': CONTENT_SECURITY_POLICY },
        }),
    },
    {
      path: BUNDLE,
      respond: async (request) =>
        acceptsGzip(request.headers.get('accept-encoding'))
          ? new Response(await packedBundle(), { headers: { ...LONG_CACHED, 'Content-Encoding': 'gzip' } })
          : new Response(bundleFile(), { headers: LONG_CACHED }),
    },
    { path: START, respond: () => new Response(START_SCRIPT, { headers: LONG_CACHED }) },
  ];
}
