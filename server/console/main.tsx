/** The console: one page for what an account has in the vault. It talks to the API as any other client does. */
import { render } from 'preact';
import { Shell } from './shell.tsx';

const place = document.getElementById('console');
if (place !== null) {
  render(<Shell />, place);
}
