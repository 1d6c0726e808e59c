/** The browser script of the guide. The pages are complete without it; it adds the vault's own URL, search, copy buttons and small aids. */
import { addCopyButtons } from './copy.ts';
import { followHeadings, freeFocus, showCurrent } from './help.ts';
import { showOwnUrl } from './origin.ts';
import { addSearch } from './search.ts';
import { addThemeChoice } from './theme.ts';

showOwnUrl();
addCopyButtons();
addThemeChoice();
addSearch();
followHeadings();
freeFocus();
showCurrent();
