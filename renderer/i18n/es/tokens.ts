import type { tokens as source } from '../en/tokens.ts';

export const tokens: Readonly<Record<keyof typeof source, string>> = {
  'tokens.title': 'Tokens',
  'tokens.what':
    'Para personas y scripts, cada uno con los permisos que necesita y no más. El token de administración de la carpeta de datos lo puede todo.',
  'tokens.add': 'Añadir un token',
  'tokens.new': 'Un token nuevo',
  'tokens.name': 'Para quién es',
  'tokens.may': 'Qué puede hacer',
  'tokens.lasts': 'Cuánto dura',
  'tokens.days': '{count, plural, one {# día} other {# días}}',
  'tokens.never': 'No caduca',
  'tokens.expires': 'Caduca',
  'tokens.used': 'Último uso:',
  'tokens.create': 'Crear el token',
  'tokens.made': 'El token de {name}',
  'tokens.once': 'Solo se muestra esta vez: guárdelo ahora.',
  'tokens.copy': 'Copiar el token',
  'tokens.revoke': 'Revocar',
  'tokens.revoked': '{name} está revocado.',
  'tokens.revoke.of': 'Revocar el token de {name}',
  'tokens.revoke.title': '¿Revocar el token de {name}?',
  'tokens.revoke.consequence':
    'Quien lo use queda fuera de inmediato, en navegadores y en scripts. No se puede deshacer.',
  'tokens.may.queue.view': 'Ver la cola',
  'tokens.may.queue.submit': 'Enviar trabajos',
  'tokens.may.queue.cancel': 'Cancelar trabajos',
  'tokens.may.queue.manage': 'Gestionar la cola',
  'tokens.may.admin.workers': 'Gestionar los workers',
  'tokens.may.admin.audit': 'Leer el registro de auditoría',
  'tokens.may.admin.tokens': 'Gestionar los tokens',
};
