import type { ShownFormSettings } from '../schema/form.ts';
import { parseFormLink } from './form-link.ts';

/** What the headers of a form page depend on. */
export interface FormPolicyParts {
  readonly settings: ShownFormSettings;
  readonly nonce: string;
  /** The base URLs that the page may send requests to. */
  readonly connect: readonly string[];
  /** The base URL of our own scripts. */
  readonly assets: string;
  /** Whether the page is kept in an origin of its own, which it must be where the API is served as well. */
  readonly sandboxed: boolean;
}

const OFF = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'xr-spatial-tracking',
];

const PERMISSIONS = [...OFF.map((feature) => `${feature}=()`), 'clipboard-write=*'].join(', ');

const originsOf = (links: readonly string[] | undefined): readonly string[] =>
  (links ?? []).map((link) => parseFormLink(link)?.origin).filter((origin) => origin !== undefined);

/** A base URL as a source: without a slash at its end a path would mean that path alone. */
const sourceOf = (base: string): string => {
  const url = new URL(base);
  return url.pathname === '/' ? url.origin : `${url.origin}${url.pathname}/`;
};

const directive = (name: string, sources: readonly string[]): string =>
  `${name} ${sources.length === 0 ? "'none'" : [...new Set(sources)].join(' ')}`;

function contentPolicy({ settings, nonce, connect, assets, sandboxed }: FormPolicyParts): string {
  const named = `'nonce-${nonce}'`;
  const sheets = originsOf(settings.css_links);
  const ancestors = settings.frame_ancestors ?? [];
  return [
    "default-src 'none'",
    directive('script-src', [named, ...originsOf(settings.js_links), new URL(assets).origin]),
    directive('style-src', [named, ...sheets]),
    'img-src data:',
    directive('font-src', sheets),
    directive('connect-src', connect.map(sourceOf)),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    directive('frame-ancestors', ancestors.length === 0 ? ['*'] : ancestors),
    ...(sandboxed ? ['sandbox allow-scripts allow-forms'] : []),
  ].join('; ');
}

/** The headers of a form page: what it may load, send to and use, and who may embed it. */
export const formHeaders = (parts: FormPolicyParts): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentPolicy(parts),
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Permissions-Policy': PERMISSIONS,
  'Cross-Origin-Resource-Policy': 'cross-origin',
  ...(parts.settings.require_corp === true ? { 'Cross-Origin-Embedder-Policy': 'require-corp' } : {}),
});
