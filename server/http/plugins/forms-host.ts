import type { HttpConfig } from './app-parts.ts';

/** The name and port of a URL's host, without the ports that go without saying and a last dot; '' where there is none. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host ?? '').replace(/:(?:443|80)$/, '').replace(/\.(?=:|$)/, '');
}

/** Whether a request came in on the host that is for forms alone; never where there is none. */
export function isOnFormsHost({ formsUrl }: HttpConfig, request: Pick<Request, 'url'>): boolean {
  return formsUrl !== undefined && hostOf(request.url) === hostOf(formsUrl);
}
