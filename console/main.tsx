/** The console: one page for what an account has in the vault. It talks to the API as any other client does. */
import { render } from 'preact';
import { Shell } from './shell.tsx';

const place = document.getElementById('console');
if (place !== null) {
  const show = (): void => render(<Shell />, place);
  show();
  // The browser's history keeps a page as it was left: with who was signed in, or on the way to be, and what was typed.
  addEventListener('pagehide', () => render(null, place));
  addEventListener('pageshow', show);
}
