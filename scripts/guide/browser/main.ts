/** The browser script of the guide. The pages are complete without it; it adds search, copy buttons and small aids. */
import { addCopyButtons } from './copy.ts';
import { followHeadings, freeFocus, showCurrent } from './help.ts';
import { addSearch } from './search.ts';

addCopyButtons();
addSearch();
followHeadings();
freeFocus();
showCurrent();
