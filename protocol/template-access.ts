/** Permission to create, replace and delete templates. In its own file, because a menu on every page needs only this. */
export const templateWrites = { authority: 'queue.manage', own: 'refused' } as const;
