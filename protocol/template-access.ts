/** Permission to create, replace and delete templates. Apart from the calls, because a menu needs it on every page. */
export const templateWrites = { authority: 'queue.manage', own: 'refused' } as const;
