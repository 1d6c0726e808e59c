import type { ShownFormSettings } from '../../http/schema/form.ts';
import { hashSource, inlineOf } from './inline.ts';
import { parseFormLink } from './link.ts';

/** What the headers of a form page depend on. */
export interface FormPolicyParts {
  readonly settings: ShownFormSettings;
  /** The base URLs that the page may send requests to. */
  readonly connect: readonly string[];
  /** The URL of our own script. */
  readonly script: string;
  /** The hash source of the styles that it adds. */
  readonly styles: string;
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

function originsOf(links: readonly string[] | undefined): readonly string[] {
  return (links ?? []).map((link) => parseFormLink(link)?.origin).filter((origin) => origin !== undefined);
}

/** A base URL as a source: without a slash at its end a path would mean that path alone. */
function sourceOf(base: string): string {
  const url = new URL(base);
  return url.pathname === '/' ? url.origin : `${url.origin}${url.pathname}/`;
}

function directive(name: string, sources: readonly string[]): string {
  return `${name} ${sources.length === 0 ? "'none'" : [...new Set(sources)].join(' ')}`;
}

/**
 * Code in the page is known by its hash, and files by where they lie: a nonce could be read by any script of the page,
 * which could load whatever it likes under it.
 */
function contentPolicy({ settings, connect, script, styles, sandboxed }: FormPolicyParts): string {
  const own = inlineOf(settings);
  const code = [...own.callbacks, own.script ?? []].flat().map(hashSource);
  const looks = own.style === undefined ? [styles] : [styles, hashSource(own.style)];
  const sheets = originsOf(settings.css_links);
  const ancestors = settings.frame_ancestors ?? [];
  return [
    "default-src 'none'",
    directive('script-src', [script, ...code, ...originsOf(settings.js_links)]),
    directive('style-src', [...looks, ...sheets]),
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

/**
 * A second policy, for the page itself: files come from the hosts of the settings alone. The first one would also let
 * in a file from anywhere that claims, by its integrity, to be the code in the page.
 */
export function filePolicy({ settings, script }: Pick<FormPolicyParts, 'settings' | 'script'>): string {
  return [
    directive('script-src', ["'unsafe-inline'", script, ...originsOf(settings.js_links)]),
    directive('style-src', ["'unsafe-inline'", ...originsOf(settings.css_links)]),
  ].join('; ');
}

/** The headers of a form page: what it may load, send to and use, and who may embed it. */
export function formHeaders(parts: FormPolicyParts): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentPolicy(parts),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy': PERMISSIONS,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    ...(parts.settings.require_corp === true ? { 'Cross-Origin-Embedder-Policy': 'require-corp' } : {}),
  };
}
