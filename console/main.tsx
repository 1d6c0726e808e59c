/** The console: a page for the data of an account, and a client of the API like any other. */
import { render } from 'preact';
import { Shell } from './shell.tsx';

const place = document.getElementById('console');
if (place !== null) {
  const show = (): void => render(<Shell />, place);
  show();
  // Otherwise the browser's history would keep the page with its session and with typed secrets.
  addEventListener('pagehide', () => render(null, place));
  addEventListener('pageshow', show);
}
