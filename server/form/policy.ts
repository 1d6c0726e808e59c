import { hashSource, inlineOf, NOT_LOADED } from './html.ts';
import type { ShownFormSettings } from './schema.ts';
import { parseFormLink } from './settings.ts';

export interface FormPolicyOptions {
  readonly settings: ShownFormSettings;
  /** The origins that the page may send requests to. */
  readonly connect: readonly string[];
  /** The URL of the script of the service. */
  readonly script: string;
  /** The hash source of the styles that the script adds. */
  readonly styles: string;
  /** The page has an opaque origin, which is required on the origin of the API. */
  readonly sandboxed: boolean;
}

/** Browser features that a form page never needs. */
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

function originsOf(links: readonly string[] = []): readonly string[] {
  return links.map((link) => parseFormLink(link)?.origin).filter((origin) => origin !== undefined);
}

function directive(name: string, sources: readonly string[]): string {
  return `${name} ${sources.length === 0 ? "'none'" : [...new Set(sources)].join(' ')}`;
}

/** The policy of the page: inline code by hash, files by origin. A script could read a nonce and load anything with it. */
function contentPolicy({ settings, connect, script, styles, sandboxed }: FormPolicyOptions): string {
  const own = inlineOf(settings);
  const code = [NOT_LOADED, ...own.callbacks, own.script ?? []].flat().map(hashSource);
  const looks = own.style === undefined ? [styles] : [styles, hashSource(own.style)];
  const sheets = originsOf(settings.css_links);
  const { frame_ancestors: ancestors = [] } = settings;
  return [
    "default-src 'none'",
    directive('script-src', [script, ...code, ...originsOf(settings.js_links)]),
    directive('style-src', [...looks, ...sheets]),
    'img-src data:',
    directive('font-src', sheets),
    directive('connect-src', connect),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    directive('frame-ancestors', ancestors.length === 0 ? ['*'] : ancestors),
    ...(sandboxed ? ['sandbox allow-scripts allow-forms'] : []),
  ].join('; ');
}

/** A second policy, inside the page: the first one would allow any file with the hash of inline code as its integrity. */
export function filePolicy(settings: ShownFormSettings, script: string): string {
  return [
    directive('script-src', ["'unsafe-inline'", script, ...originsOf(settings.js_links)]),
    directive('style-src', ["'unsafe-inline'", ...originsOf(settings.css_links)]),
  ].join('; ');
}

/** The headers of a form page, which limit what it may load, send and use, and which pages may embed it. */
export function formHeaders(options: FormPolicyOptions): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentPolicy(options),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy': PERMISSIONS,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    ...(options.settings.require_corp === true ? { 'Cross-Origin-Embedder-Policy': 'require-corp' } : {}),
  };
}
