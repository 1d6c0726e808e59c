import type { HttpConfig } from '../deps.ts';

/** The name and port of a URL's host, without the ports that go without saying. */
const hostOf = (url: string): string => new URL(url).host.replace(/:(?:443|80)$/, '');

/** Whether a request came in on the host that is for forms alone; never where there is none. */
export const isOnFormsHost = ({ formsUrl }: HttpConfig, request: Pick<Request, 'url'>): boolean =>
  formsUrl !== undefined && hostOf(request.url) === hostOf(formsUrl);
