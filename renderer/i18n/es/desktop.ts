export const desktop = {
  'desktop.title': 'Esta aplicación',
  'desktop.notices': 'Mientras uso otras aplicaciones, avisarme cuando',
  'desktop.notices.job_completed': 'se complete un trabajo',
  'desktop.notices.job_failed': 'falle un trabajo',
  'desktop.notices.worker_lost': 'un worker con un trabajo deje de responder',
  'desktop.atLogin': 'Abrir al iniciar sesión, sin ventana',
  'desktop.runsOwn': 'Ejecutar un orquestador en este equipo',
  'desktop.runsOwn.note':
    'Si se desactiva, este equipo no asigna trabajos. Se puede desactivar mientras la ventana muestra otra flota.',
  'desktop.fleets': 'Flotas',
  'desktop.fleets.what':
    'Orquestadores que esta aplicación puede mostrar. Usa siempre su propio panel, y llama a cada orquestador con el token que usted indique.',
  'desktop.fleets.here': 'Este equipo',
  'desktop.fleets.shown': 'Actual',
  'desktop.fleets.show': 'Mostrar',
  'desktop.fleets.show.of': 'Mostrar {name}',
  'desktop.fleets.add': 'Añadir flota',
  'desktop.fleets.change': 'Editar',
  'desktop.fleets.change.of': 'Editar {name}',
  'desktop.fleets.remove': 'Quitar',
  'desktop.fleets.remove.of': 'Quitar {name}',
  'desktop.fleets.remove.title': '¿Quitar {name} de esta aplicación?',
  'desktop.fleets.remove.consequence':
    'La aplicación elimina su dirección y su token. La flota sigue funcionando.',
  'desktop.fleets.sealed': 'El token está cifrado con el llavero del sistema.',
  'desktop.fleets.plain':
    'Este sistema no tiene llavero: el token se guarda sin cifrar, en un archivo que solo su cuenta puede leer.',
  'desktop.fleets.pinned': 'Solo se acepta la clave del pin.',
  'desktop.fleets.trouble': 'No accesible: {detail}',
  'desktop.fleet.name': 'Nombre',
  'desktop.fleet.url': 'Dirección',
  'desktop.fleet.token': 'Token',
  'desktop.fleet.token.keep': 'Vacío: se conserva el token actual.',
  'desktop.fleet.pin': 'Pin',
  'desktop.fleet.pin.note':
    'Para un orquestador con certificado propio. Su página de Ajustes muestra el pin.',
  'desktop.fleet.save': 'Guardar',
  'desktop.refused':
    'Esta flota rechazó el token de la aplicación: puede haber caducado o haber sido revocado. Introduzca uno nuevo.',
  'desktop.refused.again': 'Reintentar',
  'desktop.refused.here': 'Mostrar este equipo',
};
