/** The script of the guide's pages. All that they say is there without it; it adds copying, searching and small help. */
import { addCopyButtons } from './copy.ts';
import { followHeadings, freeFocus, showCurrent } from './help.ts';
import { addSearch } from './search.ts';

addCopyButtons();
addSearch();
followHeadings();
freeFocus();
showCurrent();
