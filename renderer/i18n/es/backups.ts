import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': 'Copias de seguridad',
  'backups.what':
    'Copias de la base de datos, cada una comprobada después de escribirla: trabajos, workers, tokens, registro de auditoría. Las configuraciones de entrenamiento y estos ajustes están al lado, y no dentro.',
  'backups.hourly': 'La de cada hora se hizo por última vez:',
  'backups.none': 'Aún no hay ninguna.',
  'backups.all': '{count, plural, one {Mostrarla} other {Mostrar las #}}',
  'backups.make': 'Hacer una ahora',
  'backups.making': 'Haciendo una copia y comprobándola…',
  'backups.made': 'La copia está hecha y comprobada.',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'Cada hora',
  'backups.kind.manual': 'Pedida',
  'backups.kind.upgrade': 'Antes de una actualización',
  'backups.kind.restore': 'Antes de una restauración',
  'backups.restore': 'Restaurar…',
  'backups.restore.of': 'Restaurar {name}',
  'backups.restore.title': '¿Restaurar esta copia?',
  'backups.restore.consequence':
    'El orquestador vuelve a lo que era entonces. Lo que ha cambiado desde entonces deja de valer: trabajos, workers, tokens y las entradas del registro de auditoría.',
  'backups.restore.asOf': 'Tal como era:',
  'backups.restore.saved': 'Lo que hay ahora se guarda antes como copia, para poder volver atrás.',
  'backups.restore.workers':
    'Los workers siguen entrenando. Lo que la copia no conoce se detiene cuando vuelve su worker, y los workers que se unieron después tienen que unirse de nuevo.',
  'backups.restore.signIn':
    'Las sesiones y los tokens son los de la copia: lo que se revocó después vuelve a valer, y puede que tenga que iniciar sesión otra vez. El token de administración no cambia.',
  'backups.restore.type': 'Para continuar, escriba su nombre:',
  'backups.restore.act': 'Restaurar',
  'backups.restoring':
    'Restaurando {name}: se guarda lo que hay ahora y todo se detiene un momento. Esta página vuelve por sí sola.',
  'backups.restored': 'Restaurada. Lo que había hasta ahora se guarda como {saved}.',
  'retention.title': 'Registro de auditoría',
  'retention.all': 'Se conserva todo.',
  'retention.some': '{count, plural, one {Se conserva # día.} other {Se conserva # días.}}',
  'retention.days': 'Días que se conserva',
  'retention.hint': 'Si queda vacío, se conserva todo.',
  'retention.what':
    'Las entradas más antiguas se eliminan varias veces al día. En su lugar queda una marca sellada, para que el resto se pueda seguir verificando; lo eliminado no vuelve: expórtelo antes si lo necesita.',
};
