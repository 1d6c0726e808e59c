/** The styles as one short text. Macros run when the script is built. */
import base from './base.css' with { type: 'text' };
import card from './card.css' with { type: 'text' };
import field from './field.css' with { type: 'text' };
import forced from './forced.css' with { type: 'text' };
import modern from './modern.css' with { type: 'text' };
import state from './state.css' with { type: 'text' };
import vault from './vault.css' with { type: 'text' };

/**
 * Removes comments and unnecessary white space, and shortens values. The style sheets contain no strings that this
 * could change.
 */
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

/** All style sheets of the page; of equal rules the later one applies, and no style overrides forced colours. */
export function pageStyles(): string {
  return shorten([base, field, card, state, vault, modern, forced].join('\n'));
}
