/** The styles as one short text: macros run while the script is built. */
import base from './base.css' with { type: 'text' };
import card from './card.css' with { type: 'text' };
import field from './field.css' with { type: 'text' };
import modern from './modern.css' with { type: 'text' };
import state from './state.css' with { type: 'text' };
import vault from './vault.css' with { type: 'text' };

/** Takes out comments and the white space that means nothing, and writes values shorter; the sheets hold no texts that it could harm. */
function shorten(css: string): string {
  return css
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,>~]) ?/g, '$1')
    .replace(/: /g, ':')
    .replace(/;\}/g, '}')
    .replace(/\b0\.(?=\d)/g, '.')
    .replaceAll('transparent', '#0000')
    .replace(/="(\w+)"\]/g, '=$1]')
    .trim();
}

/** All style sheets of the page, those of the base styles last. */
export function pageStyles(): string {
  return shorten([base, field, card, state, vault, modern].join('\n'));
}
